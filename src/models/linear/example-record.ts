import { isWeirError, WeirError } from '../../core/errors.ts'
import { EXAMPLE_FORM, LibsvmParser } from './libsvm-format.ts'

/** A labelled example in buffers that the next record fills again. */
export interface ExampleView {
  readonly label: number
  /** Feature ids, ascending, and their values; only the first `count` elements are valid. */
  readonly ids: Uint32Array
  readonly values: Float32Array
  readonly count: number
}

/** Bytes of a record that an error shows. */
const SHOWN_BYTES = 60

/** Reads the records of a topic of examples: each is one line of LIBSVM text, as `LibsvmParser` reads those of files. */
export class ExampleRecordReader {
  private parser = this.newParser()
  private examples = 0
  private view: ExampleView | undefined

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
      throw refused(`"${text}": expected ${EXAMPLE_FORM}`)
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
      (label, ids, values, count) => {
        this.examples++
        this.view = { label, ids, values, count }
      },
      { badLines: 'count' },
    )
  }
}

function refused(problem: string): WeirError {
  return new WeirError('UNPARSABLE_RECORD', `not an example: ${problem}`)
}
