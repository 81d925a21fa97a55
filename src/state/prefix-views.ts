const MOST = 64

/** Views of the first bytes of a buffer, one for each short length, so that none is made per entry. */
export class PrefixViews {
  private readonly views: (Uint8Array | undefined)[] = new Array<undefined>(MOST).fill(undefined)

  /** The first `length` bytes of `bytes`. */
  of(bytes: Uint8Array, length: number): Uint8Array {
    if (length >= MOST) return bytes.subarray(0, length)
    let view = this.views[length]
    if (view === undefined || view.buffer !== bytes.buffer) {
      view = bytes.subarray(0, length)
      this.views[length] = view
    }
    return view
  }
}
