/** Turns of the models of one thread: one of them runs at a time, in the order in which they ask. */
export class Turns {
  private last: Promise<void> = Promise.resolve()

  /** Resolves when it is the caller's turn, with what ends it. */
  async enter(): Promise<() => void> {
    const before = this.last
    let leave = (): void => {}
    this.last = new Promise((resolve) => {
      leave = resolve
    })
    await before
    return leave
  }
}
