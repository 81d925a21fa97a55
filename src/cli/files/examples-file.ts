import { readPieces } from '../../connectors/file/open-folder.ts'
import { WeirError } from '../../core/errors.ts'
import type { FeatureHashing } from '../../core/features/hashing.ts'
import { addExamples, type ExamplesTarget } from '../../training/data/read-libsvm.ts'
import { type SparseTable, SparseTableBuilder } from '../../training/data/sparse-table.ts'
import type { BadLinesOfFiles } from './bad-lines.ts'
import { type DataFileKind, dataFilesAt, type ReadFacts, readDataFile } from './data-file.ts'

const EXAMPLES_FILE: DataFileKind = {
  content: 'examples',
  hint: 'the path or hdfs:// URL of a LIBSVM text file, or of a folder of such files',
}

/** How the examples of a command are read. */
export interface ExamplesReading {
  readonly facts?: Pick<ReadFacts, 'onPiece' | 'onExample'>
  /** @default a bad line ends the reading */
  readonly badLines?: BadLinesOfFiles
  /** Features have names, which are hashed. @default they have ids */
  readonly hashing?: FeatureHashing | undefined
  /** Gets the namespaces of crosses that no example has, if there are some. */
  readonly onMissing?: (namespaces: readonly string[]) => void
}

/**
 * The examples of a LIBSVM file, or of the part files of a folder, at a path or an `hdfs://` URL. Throws
 * INVALID_ARGUMENT if a file cannot be read, UNPARSABLE_RECORD, and EMPTY_DATASET if there are no examples.
 * Errors name the file.
 */
export async function examplesOfFile(
  place: string,
  { facts, badLines, hashing, onMissing }: ExamplesReading = {},
): Promise<SparseTable> {
  const builder = new SparseTableBuilder()
  const target = facts === undefined ? builder : noting(facts, builder)
  let missing: readonly string[] | undefined
  for (const file of await dataFilesAt(place, EXAMPLES_FILE)) {
    const bad = badLines?.of(file)
    const options = {
      hashing,
      ...(bad && { badLines: badLines!.policy, onBadLine: bad.onBadLine }),
    }
    const read = await readDataFile(file, EXAMPLES_FILE, () =>
      addExamples(
        target,
        readPieces(file, (_, piece) => facts?.onPiece(piece)),
        options,
      ),
    )
    bad?.report(read.lines)
    const { missingNamespaces: own } = read
    missing = missing?.filter((name) => own.includes(name)) ?? own
  }
  if (missing !== undefined && missing.length > 0) onMissing?.(missing)
  const table = builder.build()
  if (table.rows > 0) return table
  throw new WeirError(
    'EMPTY_DATASET',
    `${place} has no examples; write one "label feature:value ..." a line`,
  )
}

/** A target that also notes each example. */
function noting(facts: Pick<ReadFacts, 'onExample'>, target: ExamplesTarget): ExamplesTarget {
  return {
    add(label, ids, values, count, importance) {
      facts.onExample(label, ids, values, count)
      target.add(label, ids, values, count, importance)
    },
  }
}

/** The text of these files in pieces, one after the other. Throws as `examplesOfFile`. */
export async function* examplePieces(place: string): AsyncGenerator<Uint8Array> {
  for (const file of await dataFilesAt(place, EXAMPLES_FILE)) {
    yield* readPieces(file)
    // The last line of a file may have no line end.
    yield Uint8Array.of(0x0a)
  }
}
