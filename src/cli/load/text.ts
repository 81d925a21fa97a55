import { readFile } from 'node:fs/promises'

/** Text of a file. Rejects with the error of the file system. */
export function readText(path: string): Promise<string> {
  return readFile(path, 'utf8')
}
