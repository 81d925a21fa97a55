/** Lengths of which a view is kept: those of keys, and of most packed records. */
const MOST = 512

/** Views of the first bytes of a buffer, one for each short length, so that no entry needs a new view. */
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
