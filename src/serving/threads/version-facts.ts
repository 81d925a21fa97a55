import { isDeepStrictEqual } from 'node:util'

/** What the versions of models say of themselves, by queryable name. */
export class VersionFacts<T extends { readonly version: number }> {
  private readonly byName = new Map<string, Map<number, T>>()

  /** Notes what a version says; false if that is known: a restart and a write-back say it again. */
  add(name: string, fact: T): boolean {
    const known = this.byName.get(name) ?? new Map<number, T>()
    if (isDeepStrictEqual(known.get(fact.version), fact)) return false
    this.byName.set(name, known.set(fact.version, fact))
    return true
  }

  /** What the versions of a name say; undefined where none has said anything. */
  of(name: string): readonly T[] | undefined {
    const known = this.byName.get(name)
    return known && [...known.values()]
  }

  /** A version is gone for good. */
  retire(name: string, version: number): void {
    this.byName.get(name)?.delete(version)
  }
}
