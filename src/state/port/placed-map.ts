import type { MapState } from './handles.ts'

/**
 * Map state whose user keeps the places of entries, so that they need not be found again by their keys. A place is good for
 * the key that it was given for; where its entry has left memory, the key counts.
 */
export interface PlacedMapState<K, V> extends MapState<K, V> {
  /** As `put` of a value; returns the place of the entry, or undefined where entries leave memory or expire. */
  place(key: K, value: V): object | undefined
  /** As `get`. */
  getAt(key: K, place: object | undefined): V | undefined
  /** As `remove`. */
  removeAt(key: K, place: object | undefined): void
}

/** The places of a map state of the context of a function, all of which have them. */
export function placedMap<K, V>(state: MapState<K, V>): PlacedMapState<K, V> {
  return state as PlacedMapState<K, V>
}
