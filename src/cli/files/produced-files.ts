import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { replaceFileSync } from '../../files/durable-files.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'

/**
 * The files of a watched place whose lines are in a topic: a JSON array of their places in a file. A file
 * is known by its place without the settings of an `hdfs://` URL.
 */
export class ProducedFiles {
  private readonly path: string
  private readonly places: Set<string>

  private constructor(path: string, places: readonly string[]) {
    this.path = path
    this.places = new Set(places)
  }

  /** Reads the list, empty where there is no file. Throws MALFORMED_DATA. */
  static open(path: string): ProducedFiles {
    let text: string
    try {
      text = readFileSync(path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return new ProducedFiles(path, [])
    }
    return new ProducedFiles(path, placesIn(text, path))
  }

  has(place: string): boolean {
    return this.places.has(withoutSettings(place))
  }

  /** Adds a file; on the disk when this returns. */
  add(place: string): void {
    this.places.add(withoutSettings(place))
    mkdirSync(dirname(this.path), { recursive: true })
    const text = `${JSON.stringify([...this.places], undefined, 1)}\n`
    replaceFileSync(nodeFileSystem, this.path, new TextEncoder().encode(text))
  }
}

function withoutSettings(place: string): string {
  return place.startsWith('hdfs://') ? place.replace(/\?.*$/, '') : place
}

function placesIn(text: string, path: string): readonly string[] {
  let places: unknown
  try {
    places = JSON.parse(text)
  } catch {
    places = undefined
  }
  if (Array.isArray(places) && places.every((place) => typeof place === 'string')) return places
  throw new WeirError(
    'MALFORMED_DATA',
    `${path} is not the list of files that "weir topic produce --watch" wrote; write a JSON array of the files that are in the topic, or remove it to append all files again`,
    { details: { path } },
  )
}
