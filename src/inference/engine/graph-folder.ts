import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Folder for the optimised graphs of the models of one engine, which only this user can read. It goes with the engine. */
export class GraphFolder implements Disposable {
  private folder: string | undefined
  private files = 0

  /** A file for another model; it is not there yet. */
  file(): string {
    this.folder ??= mkdtempSync(join(tmpdir(), 'weir-graphs-'))
    return join(this.folder, `${this.files++}.onnx`)
  }

  [Symbol.dispose](): void {
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true })
  }
}
