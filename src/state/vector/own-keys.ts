import { WeirError } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { containsKeyGroup, type KeyGroupRange, keyGroupOfHash } from '../../core/key-group.ts'

/** Options of `OwnKeys`. */
export interface OwnKeysOptions {
  readonly state: string
  readonly maxKeyBytes: number
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  readonly slot: number
}

/** Hashes the keys that a slot owns and refuses all others. */
export class OwnKeys {
  private readonly options: OwnKeysOptions
  private readonly maxKeyBytes: number

  constructor(options: OwnKeysOptions) {
    this.options = options
    this.maxKeyBytes = options.maxKeyBytes
  }

  /** The key's murmur3 as int32. Throws KEY_TOO_LONG, NOT_OWNER. */
  hash(key: Uint8Array): number {
    if (key.length > this.maxKeyBytes) throw this.tooLong(key)
    const hash = murmur3(key)
    const group = keyGroupOfHash(hash, this.options.maxParallelism)
    if (!containsKeyGroup(this.options.keyGroups, group)) throw this.notOwner(group)
    return hash | 0
  }

  private tooLong(key: Uint8Array): WeirError {
    const text = new TextDecoder().decode(key)
    return new WeirError(
      'KEY_TOO_LONG',
      `the key "${text}" of ${key.length} bytes exceeds the ${this.maxKeyBytes} of state "${this.options.state}"; raise maxKeyBytes of the state (--max-key-bytes of a job that serves a model)`,
    )
  }

  private notOwner(group: number): WeirError {
    const { keyGroups, slot } = this.options
    return new WeirError(
      'NOT_OWNER',
      `key group ${group} is not among ${keyGroups.first} to ${keyGroups.last} of slot ${slot}; key the stream by the row's key`,
      { details: { keyGroup: group, slot } },
    )
  }
}
