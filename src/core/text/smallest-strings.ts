/**
 * The smallest of many strings, at most `capacity` of them: a heap with the largest one first, so that a
 * string that does not belong to them costs one comparison. All values are distinct.
 */
export class SmallestStrings {
  private readonly heap: string[] = []
  private readonly capacity: number
  private leftOut = false

  /** `capacity` is at least 1. */
  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** The string that a smaller one would replace; undefined while there is room for any. */
  get limit(): string | undefined {
    return this.heap.length < this.capacity ? undefined : this.heap[0]
  }

  /** Whether a string was left out because there was no room for it. */
  get isCut(): boolean {
    return this.leftOut
  }

  /** Takes a string, or leaves out the largest one. */
  offer(text: string): void {
    const { heap } = this
    if (heap.length < this.capacity) this.push(text)
    else {
      this.leftOut = true
      if (text < heap[0]!) this.replaceFirst(text, heap.length)
    }
  }

  /** Yields from time to time while it sorts; returns all strings, ascending. The heap is empty then. */
  *sorted(): Generator<void, string[]> {
    const { heap } = this
    for (let length = heap.length - 1; length > 0; length--) {
      const largest = heap[0]!
      this.replaceFirst(heap[length]!, length)
      heap[length] = largest
      if (length % 64 === 0) yield
    }
    return heap.splice(0)
  }

  private push(text: string): void {
    const { heap } = this
    let at = heap.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]! >= text) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = text
  }

  /** Puts a string into the place of the largest one, among the first `length`. */
  private replaceFirst(text: string, length: number): void {
    const { heap } = this
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= length) break
      if (child + 1 < length && heap[child + 1]! > heap[child]!) child += 1
      if (heap[child]! <= text) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = text
  }
}
