import { WeirError } from '../../core/errors.ts'
import type { ScanEntry } from '../../wire/model-reader.ts'
import type { QueryEndpoint, RoutingTable } from '../../wire/routing-table.ts'
import { askedKey } from '../../wire/state/formatted-key.ts'

/** Entries in the order of their keys, and the key to continue from; undefined at the end. */
export interface EntriesPage {
  readonly entries: ScanEntry[]
  readonly next: string | undefined
}

/** What a scan of a job in many processes uses of its client. */
export interface SharedScansOptions {
  readonly routing: () => RoutingTable | undefined
  readonly refresh: () => Promise<unknown>
  /**
   * Asks the owner of a job partition for the entries of a range, and tries again while that can help; `endpoint` is
   * looked up for each try.
   */
  readonly ask: (partition: number, endpoint: () => string | undefined) => Promise<EntriesPage>
}

/**
 * Scans the state of a job in many processes: each job partition is asked at its owner, and the answers are merged. A
 * partition that does not answer is an error, never a shorter list. Each partition is read at its own moment.
 */
export class SharedScans {
  private readonly client: SharedScansOptions

  constructor(client: SharedScansOptions) {
    this.client = client
  }

  /** The first entries of the range that `ask` asks for, at most `limit`. Rejects as the requests to the owners, and with RESTORING while no process knows the state. */
  async page(state: string, limit: number): Promise<EntriesPage> {
    const { keyFormat, partitions, isKnown } = await this.partitionsOf(state)
    const pages = await Promise.all(
      partitions.map(async (partition) => {
        const page = await this.client.ask(partition, () => this.ownerOf(partition))
        return page.next === undefined && page.entries.length >= limit ? goOn(page) : page
      }),
    )
    if (!isKnown) {
      const message = `no process of the job has said yet which keys "${state}" has; ask again`
      throw new WeirError('RESTORING', message)
    }
    return mergedPage(pages, limit, (key) => askedKey(key, keyFormat))
  }

  /** The job partitions that have keys of a state; partition 0, which knows all states, for one that no process names. */
  private async partitionsOf(
    state: string,
  ): Promise<{ keyFormat: string | undefined; partitions: readonly number[]; isKnown: boolean }> {
    if (this.infoOf(state)?.keyGroups === undefined) await this.client.refresh()
    const info = this.infoOf(state)
    const shares = this.client.routing()?.shares
    if (info?.keyGroups === undefined || shares === undefined) {
      return { keyFormat: undefined, partitions: [0], isKnown: false }
    }
    // One key group stands for a state whose keys are all in job partition 0.
    const count = info.keyGroups === 1 ? 1 : shares.partitions
    const partitions = Array.from({ length: count }, (_, n) => n)
    return { keyFormat: info.keyFormat, partitions, isKnown: true }
  }

  private infoOf(state: string) {
    return this.client.routing()?.states.find(({ name }) => name === state)
  }

  private ownerOf(partition: number): string | undefined {
    const table = this.client.routing()
    const owner: QueryEndpoint | undefined = table?.endpoints[table.shares?.owners[partition] ?? -1]
    return owner === undefined ? undefined : `${owner.host}:${owner.port}`
  }
}

/** A page that its limit has ended: it goes on behind its last key. */
function goOn(page: EntriesPage): EntriesPage {
  const last = page.entries.at(-1)
  return last === undefined ? page : { ...page, next: `${last.key}\0` }
}

/**
 * The first entries of pages with different keys, in the order of the keys' bytes. Entries from the place on where one
 * page ends early are left out: the range of that page may have smaller ones.
 */
export function mergedPage(
  pages: readonly EntriesPage[],
  limit: number,
  bytesOf: (key: string) => Uint8Array,
): EntriesPage {
  let cut: { readonly key: string; readonly bytes: Uint8Array } | undefined
  for (const { next } of pages) {
    if (next === undefined) continue
    const bytes = bytesOf(next)
    if (cut === undefined || Buffer.compare(bytes, cut.bytes) < 0) cut = { key: next, bytes }
  }
  const found: { readonly entry: ScanEntry; readonly bytes: Uint8Array }[] = []
  for (const { entries } of pages) {
    for (const entry of entries) {
      const bytes = bytesOf(entry.key)
      if (cut === undefined || Buffer.compare(bytes, cut.bytes) < 0) found.push({ entry, bytes })
    }
  }
  found.sort((a, b) => Buffer.compare(a.bytes, b.bytes))
  const entries = found.slice(0, limit).map(({ entry }) => entry)
  // The first key that is left out is the next one.
  return { entries, next: found[limit]?.entry.key ?? cut?.key }
}
