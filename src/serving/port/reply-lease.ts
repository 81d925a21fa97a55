/**
 * The buffers of slots' replies that answers are views of. Who has written the answers gives them back, so that the slots
 * use them again: as garbage they would make the collector look through the heap of this thread and of the slot.
 */
export class ReplyLease {
  private readonly held: (() => void)[] = []

  /** `giveBack` is called when no one reads the buffer any more; never if the answers are not written. */
  hold(giveBack: () => void): void {
    this.held.push(giveBack)
  }

  /** The answers are written: no one reads them any more. */
  release(): void {
    for (const giveBack of this.held.splice(0)) giveBack()
  }
}
