/** Maximum bytes of one number. */
const NUMBER_BYTES = 32
const ZERO = 0x30
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const COLON = 0x3a
const SPACE = 0x20
const LINE_FEED = 0x0a
/** Maximum decimals of a value that is written without making a string. */
const DECIMALS = 1000

/**
 * Writes examples as LIBSVM text into one growing buffer, without a string per number; values are
 * the shortest text that reads back as the same float32. `bytes` up to `length` are valid until
 * `reset`.
 */
export class LibsvmWriter {
  bytes = new Uint8Array(1 << 16)
  length = 0

  /** Discards the text and keeps the memory. */
  reset(): void {
    this.length = 0
  }

  /** Appends a line. */
  add(label: number, ids: ArrayLike<number>, values: ArrayLike<number>): void {
    this.reserve((2 * ids.length + 1) * NUMBER_BYTES)
    if (label > 0) this.bytes[this.length++] = PLUS
    this.number(label)
    for (let k = 0; k < ids.length; k++) {
      this.bytes[this.length++] = SPACE
      this.whole(ids[k]!)
      this.bytes[this.length++] = COLON
      this.number(values[k]!)
    }
    this.bytes[this.length++] = LINE_FEED
  }

  private number(value: number): void {
    const scaled = Math.round(Math.abs(value) * DECIMALS)
    if (scaled < 2 ** 31 && Math.fround(scaled / DECIMALS) === Math.fround(Math.abs(value))) {
      if (value < 0) this.bytes[this.length++] = MINUS
      const whole = Math.floor(scaled / DECIMALS)
      this.whole(whole)
      this.fraction(scaled - whole * DECIMALS)
    } else this.text(shortest(value))
  }

  /** The decimals, in thousandths, without zeros at the end. */
  private fraction(thousandths: number): void {
    if (thousandths === 0) return
    const { bytes } = this
    const tenths = Math.floor(thousandths / 100)
    const hundredths = Math.floor(thousandths / 10) % 10
    bytes[this.length++] = POINT
    bytes[this.length++] = ZERO + tenths
    if (thousandths % 100 === 0) return
    bytes[this.length++] = ZERO + hundredths
    if (thousandths % 10 !== 0) bytes[this.length++] = ZERO + (thousandths % 10)
  }

  private whole(value: number): void {
    let digits = 1
    for (let power = 10; power <= value; power *= 10) digits++
    let rest = value
    for (let at = this.length + digits - 1; at >= this.length; at--) {
      const tenth = Math.floor(rest / 10)
      this.bytes[at] = ZERO + rest - tenth * 10
      rest = tenth
    }
    this.length += digits
  }

  private text(text: string): void {
    for (let i = 0; i < text.length; i++) this.bytes[this.length++] = text.charCodeAt(i)
  }

  private reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(this.length + count, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }
}

/** The shortest text that reads back as the same float32. */
function shortest(value: number): string {
  const single = Math.fround(value)
  for (let digits = 6; digits < 9; digits++) {
    const text = String(Number(single.toPrecision(digits)))
    if (Math.fround(Number(text)) === single) return text
  }
  return String(single)
}
