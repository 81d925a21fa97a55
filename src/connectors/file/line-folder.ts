/** A file that is read from anywhere. */
export interface LineFileInput {
  /** Fills `target` with bytes from `position` on; fewer come back at times, 0 at the end. */
  read(target: Uint8Array, position: number): Promise<number>
  close(): Promise<void>
}

/** A file that is written from its beginning. */
export interface LineFileOutput {
  /** Appends; never waits. Throws the failure of earlier writes. */
  write(text: string): void
  /** False while too much waits to be stored; true after a failure, which `write` then throws. */
  ready(): boolean
  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void>
  /** Resolves when all is stored durably. Throws the failure. */
  finish(): Promise<void>
  /** Ends without a failure, whatever was stored. */
  abandon(): Promise<void>
}

/** The port of line sinks to a folder, here or in HDFS. Failures throw CONNECTOR_FAILED. */
export interface LineFolder {
  /** The folder as the user wrote it, for messages. */
  readonly place: string
  /** Makes the folder with its parents; one that exists is left. */
  make(): Promise<void>
  /** Names of what lies in it. */
  names(): Promise<readonly string[]>
  /** Begins a file. What keeps it from being made shows in its methods. */
  begin(name: string): LineFileOutput
  /** Renames, atomically, replacing. False when there is no file `from`. */
  rename(from: string, to: string): Promise<boolean>
  exists(name: string): Promise<boolean>
  /** Removes a file; a missing one is ignored. */
  remove(name: string): Promise<void>
  close(): Promise<void>
}
