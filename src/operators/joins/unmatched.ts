import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import { int53Serializer } from '../../core/serializer.ts'
import { type MapStateDescriptor, mapState } from '../../state/port/descriptors.ts'
import type { MapState } from '../../state/port/handles.ts'

/** Which records of a join have a result without a partner: those of an outer side. */
export type JoinKind = 'inner' | 'left' | 'right' | 'full'

/** Whether a kind of join is outer on a side. */
export function isOuter(kind: JoinKind, side: 'left' | 'right'): boolean {
  return kind === side || kind === 'full'
}

/** The state of the unmatched records of a side: by event time, the places of records among those of their time. */
export function unmatchedState(
  side: 'left' | 'right',
): MapStateDescriptor<number, readonly number[]> {
  return mapState(`${side}-unmatched`, {
    keySerializer: int53Serializer,
    serializer: msgpackSerializer<readonly number[]>(),
  })
}

/** The records of an outer side of an interval join that have had no partner. Partners come to all records of a time. */
export class Unmatched {
  private readonly state: MapState<number, readonly number[]>

  constructor(state: MapState<number, readonly number[]>) {
    this.state = state
  }

  /** A record came that has no partner yet; `place`: how many of its time came before it. */
  add(time: number, place: number): void {
    this.state.put(time, [...(this.state.get(time) ?? []), place])
  }

  /** A partner of the records of a time came. */
  match(time: number): void {
    this.state.remove(time)
  }

  /** The places of the records of a time that have had none, which are forgotten. */
  take(time: number): readonly number[] {
    const places = this.state.get(time) ?? []
    if (places.length > 0) this.state.remove(time)
    return places
  }
}
