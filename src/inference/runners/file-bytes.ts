import { closeSync, openSync, readSync, statSync } from 'node:fs'
import type { ByteSource } from '../onnx/protobuf-fields.ts'

/** Bytes that are read at once. */
const WINDOW = 64 * 1024

/** Bytes of a file that is read in places, not as a whole. */
export class FileBytes implements ByteSource, Disposable {
  readonly length: number
  private readonly file: number
  private window = Buffer.alloc(WINDOW)
  private from = 0
  private to = 0

  constructor(path: string) {
    this.length = statSync(path).size
    this.file = openSync(path, 'r')
  }

  read(at: number, length: number): Uint8Array {
    if (at < this.from || at + length > this.to) this.load(at, length)
    return this.window.subarray(at - this.from, at - this.from + length)
  }

  [Symbol.dispose](): void {
    closeSync(this.file)
  }

  private load(at: number, length: number): void {
    if (length > this.window.length) this.window = Buffer.alloc(length)
    this.from = at
    this.to = at + readSync(this.file, this.window, 0, this.window.length, at)
  }
}
