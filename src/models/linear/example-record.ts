import { isWeirError, WeirError } from '../../core/errors.ts'
import type { FeatureHashing } from '../../core/features/hashing.ts'
import { LibsvmParser } from './libsvm-format.ts'

/** A labelled example in buffers that the next record fills again. */
export interface ExampleView {
  readonly label: number
  /** How many examples this one counts for, above 0. */
  readonly importance: number
  /** Feature ids, ascending, and their values; only the first `count` elements are valid. */
  readonly ids: Uint32Array
  readonly values: Float32Array
  readonly count: number
}

/** Bytes of a record that an error shows. */
const SHOWN_BYTES = 60

/** Reads the records of a topic of examples: each is one line of LIBSVM text, as `LibsvmParser` reads those of files. */
export class ExampleRecordReader {
  private readonly hashing: FeatureHashing | undefined
  private parser: LibsvmParser
  private examples = 0
  private view: ExampleView | undefined

  /** `hashing`: features have names. */
  constructor(hashing?: FeatureHashing) {
    this.hashing = hashing
    this.parser = this.newParser()
  }

  /**
   * The example of a record, valid until the next one. Throws UNPARSABLE_RECORD, also for a record without an
   * example and for one with several: an offset is the position of one example.
   */
  read(bytes: Uint8Array | null): ExampleView {
    this.examples = 0
    this.view = undefined
    if (bytes === null) throw refused('the record has no value')
    const badBefore = this.parser.badLineCount
    this.parse(bytes)
    if (this.parser.badLineCount > badBefore) {
      const text = new TextDecoder().decode(bytes.subarray(0, SHOWN_BYTES))
      throw refused(`"${text}": expected ${this.parser.form}`)
    }
    if (this.view !== undefined && this.examples === 1) return this.view
    throw refused(`the record has ${this.examples} lines with an example; write one a record`)
  }

  private parse(bytes: Uint8Array): void {
    try {
      this.parser.push(bytes)
      this.parser.end()
    } catch (error) {
      // What it holds of this line is not part of the next one.
      this.parser = this.newParser()
      throw isWeirError(error) ? refused(error.message) : error
    }
  }

  private newParser(): LibsvmParser {
    return new LibsvmParser(
      (label, ids, values, count, importance) => {
        this.examples++
        this.view = { label, importance, ids, values, count }
      },
      { badLines: 'count', hashing: this.hashing },
    )
  }
}

function refused(problem: string): WeirError {
  return new WeirError('UNPARSABLE_RECORD', `not an example: ${problem}`)
}
