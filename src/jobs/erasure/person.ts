import type { RecordView } from '../../connectors/records/topic-record.ts'
import { alsKey } from '../../models/als/row-key.ts'
import { fieldsOf } from '../../models/ratings/rating-fields.ts'
import { splitVersionedKey } from '../../models/versioned-key.ts'

/** What may stand between the fields of a line. */
export const SEPARATORS = [',', '\t', ';', '::', '|']

/** A record of a model topic that is of a person. */
export interface PersonsRow {
  /** Key of the record as it is: with the version where it has one. */
  readonly key: string
  readonly version: number
  /** Whether it says that the row is deleted, and holds no more than the id. */
  readonly isTombstone: boolean
}

/** Says which records are of one user. Pure: it reads no topic. */
export class Person {
  readonly user: string
  /** Key of the user's rows, without a version. */
  readonly rowKey: string
  /** The id, for a pattern. */
  readonly pattern: string
  /** Where a text names the user, as `user=405`: a name of a feature, or JSON. */
  readonly named: RegExp

  /** Throws INVALID_ARGUMENT for the id of the mean rows. */
  constructor(user: string) {
    this.user = user
    this.rowKey = alsKey(user, 'U')
    this.pattern = user.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
    this.named = new RegExp(
      `\\b[Uu]ser(?:_?[Ii]d)?["']?\\s*[=:]\\s*["']?${this.pattern}(?![0-9A-Za-z_.-])`,
    )
  }

  /** Whether a record is a rating by the user, also one that no reader takes: its first field is the id. */
  hasRated(record: RecordView): boolean {
    if (record.valueLength < 0) return false
    return this.isFirstField(textOf(record.value()))
  }

  /** Whether a record in a topic of ratings forgets the user: it has the id as key, and no value. */
  isForgottenIn(record: RecordView): boolean {
    return record.valueLength < 0 && textOf(record.key()) === this.user
  }

  /** Whether a record names the user in its text, as an example whose features have names. */
  names(record: RecordView): boolean {
    return record.valueLength >= 0 && this.named.test(textOf(record.value()))
  }

  /** Whether the first field of a line is the id, whatever separates its fields. */
  isFirstField(line: string): boolean {
    const { user } = this
    if (!line.includes(user)) return false
    return SEPARATORS.some((separator) => {
      const fields = fieldsOf(line.replace(/^\ufeff/, '').trimEnd(), separator)
      // A line whose quotes do not match has no fields: then its start counts.
      if (!Array.isArray(fields)) return line.replace(/^[\s"]+/, '').startsWith(user)
      return fields.length > 1 && fields[0] === user
    })
  }

  /** Whether a field of a table is the id, or the key of a row of the user. */
  isNamedBy(field: string): boolean {
    if (!field.startsWith(this.user)) return false
    return field === this.user || splitVersionedKey(field).key === this.rowKey
  }

  /** The row of the user in a record of a model topic; undefined for any other record. */
  rowIn(record: RecordView): PersonsRow | undefined {
    const isTombstone = record.valueLength < 0
    if (record.keyLength >= 0) {
      const key = textOf(record.key())
      const { key: rowKey, version } = splitVersionedKey(key)
      return rowKey === this.rowKey ? { key, version, isTombstone } : undefined
    }
    // A row as text without a key, as the ancestor wrote it: `<id>,U,f1;f2`.
    if (isTombstone) return undefined
    const [id, kind] = textOf(record.value()).split(',')
    return id === this.user && kind === 'U'
      ? { key: this.rowKey, version: splitVersionedKey(this.rowKey).version, isTombstone }
      : undefined
  }
}

const decoder = new TextDecoder()

function textOf(bytes: Uint8Array | null): string {
  return bytes === null ? '' : decoder.decode(bytes)
}
