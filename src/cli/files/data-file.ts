import { type FileToRead, filesAt } from '../../connectors/file/list.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'

const REASONS: Readonly<Record<string, string>> = {
  FILE_NOT_FOUND: 'no such file',
  ENOENT: 'no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
}

/** Gathers facts of data files while they are read. */
export interface ReadFacts {
  /** A piece of a file's bytes as they are stored; files one after the other. */
  onPiece(piece: Uint8Array): void
  /** An observation with its event time, ms since 1970; -1 if unknown. */
  onEvent(timestamp: number): void
  /** A rating of the files. */
  onRating(user: string, item: string, rating: number): void
  /** An example of the files; only the first `count` ids and values are its own. */
  onExample(label: number, ids: Uint32Array, values: Float32Array, count: number): void
}

/** Description of a data file, for error messages. */
export interface DataFileKind {
  /** Content of the file: `ratings`. */
  readonly content: string
  /** Value that the user should give instead: `the path of a u.data`. */
  readonly hint: string
}

/**
 * The files at a place that a flag names, a path or an `hdfs://` URL: the file itself, or the part files of
 * the folder. Throws INVALID_ARGUMENT if there is none.
 */
export async function dataFilesAt(place: string, kind: DataFileKind): Promise<readonly string[]> {
  return (await sizedDataFilesAt(place, kind)).map((file) => file.place)
}

/** The same files with their sizes. Throws INVALID_ARGUMENT if there is none. */
export async function sizedDataFilesAt(
  place: string,
  kind: DataFileKind,
): Promise<readonly FileToRead[]> {
  try {
    return await filesAt(place)
  } catch (error) {
    throw unreadable(place, kind, error)
  }
}

/**
 * The result of `read` on one of these files. Errors name the file. Throws INVALID_ARGUMENT if the file
 * cannot be read.
 */
export async function readDataFile<T>(
  path: string,
  kind: DataFileKind,
  read: (path: string) => Promise<T>,
): Promise<T> {
  try {
    return await read(path)
  } catch (error) {
    if (!isWeirError(error)) throw unreadable(path, kind, error)
    throw new WeirError(error.code, `${path}: ${error.message}`, {
      cause: error,
      details: error.details,
    })
  }
}

/** The error of a file or folder that cannot be opened; other errors as they are. */
function unreadable(path: string, { content, hint }: DataFileKind, error: unknown): unknown {
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? '']
  if (reason === undefined) return error
  const message = `cannot read the ${content} file ${path}: ${reason}; give ${hint}`
  return new WeirError('INVALID_ARGUMENT', message, { cause: error })
}
