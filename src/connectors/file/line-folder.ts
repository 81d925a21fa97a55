/** A file that can be read from any position. */
export interface LineFileInput {
  /** Reads bytes from `position` on into `target`. Returns their number: may be less, 0 at the end. */
  read(target: Uint8Array, position: number): Promise<number>
  /** Bytes of the file. */
  size(): Promise<number>
  close(): Promise<void>
}

/** A file that is written from its start. */
export interface LineFileOutput {
  /** Appends without waiting. Throws the failure of earlier writes. */
  write(text: string): void
  /** False while too many bytes wait to be stored; true after a failure, which `write` throws. */
  ready(): boolean
  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void>
  /** Resolves when all is stored durably. Throws the failure. */
  finish(): Promise<void>
  /** Ends without an error; the file may be incomplete. */
  abandon(): Promise<void>
}

/** Port of line sinks to a folder of this machine or of HDFS. Failures throw CONNECTOR_FAILED. */
export interface LineFolder {
  /** The folder as the user wrote it, for messages. */
  readonly place: string
  /** Creates the folder with its parents, if it does not exist. */
  make(): Promise<void>
  /** Names of the files in it. */
  names(): Promise<readonly string[]>
  /** Begins a file. If it cannot be created, its methods report that. */
  begin(name: string): LineFileOutput
  /** Renames a file atomically and replaces one of the new name. False when there is no file `from`. */
  rename(from: string, to: string): Promise<boolean>
  exists(name: string): Promise<boolean>
  /** Removes a file; a missing one is ignored. */
  remove(name: string): Promise<void>
  close(): Promise<void>
}
