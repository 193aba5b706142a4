// SPDX-License-Identifier: BSD-3-Clause
// A list that runs through its members: O(1) to add, to take out from anywhere, and no memory.
#pragma once

namespace softrnic::nic {

struct ListNode {
  ListNode* previous = nullptr;
  ListNode* next = nullptr;
};

// T derives from ListNode and is in at most one list at a time. The list owns nothing.
template <class T>
class IntrusiveList {
 public:
  IntrusiveList() { ends_.previous = ends_.next = &ends_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const { return ends_.next == &ends_; }
  void push_back(T& item) { insert(item, *ends_.previous); }
  void push_front(T& item) { insert(item, ends_); }
  // The first, taken out; null when there is none.
  T* pop_front() {
    if (empty()) return nullptr;
    T* item = static_cast<T*>(ends_.next);
    remove(*item);
    return item;
  }
  static void remove(T& item) {
    item.previous->next = item.next;
    item.next->previous = item.previous;
    item.previous = item.next = nullptr;
  }
  // Visits each; the visitor may take out the one it is given.
  template <class Visit>
  void for_each(Visit visit) {
    for (ListNode* node = ends_.next; node != &ends_;) {
      ListNode* const after = node->next;
      visit(*static_cast<T*>(node));
      node = after;
    }
  }

 private:
  static void insert(ListNode& item, ListNode& before) {
    item.previous = &before;
    item.next = before.next;
    before.next->previous = &item;
    before.next = &item;
  }

  ListNode ends_;  // closes the ring: its next is the first, its previous the last
};

}  // namespace softrnic::nic
