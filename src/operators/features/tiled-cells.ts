import type { OpenRow } from './row.ts'
import { refusalOfNumber, type Tally } from './tally.ts'
import type { Tiling } from './tiling.ts'

const TILE_BYTES = 4

/** What a tile holds of its events, in bytes, and how a window is read from its tiles. */
export interface Cell<OUT> {
  readonly name: string
  /** Bytes of a tile. */
  readonly width: number
  /** Writes the first event of a tile at a byte of the view. */
  begin(view: DataView, at: number, input: number): void
  /** Adds an event to a tile. */
  add(view: DataView, at: number, input: number): void
  /** The value of the tiles whose cells are at these bytes: `from`, `from + stride` and so on, before `to`. */
  read(view: DataView, tiles: CellSpan): OUT
}

/** The cells of a window. */
export interface CellSpan {
  readonly from: number
  readonly to: number
  readonly stride: number
}

/** A feature whose region is a list of tiles that had events, each with its number (uint32) and its cell, oldest first. */
export class TiledCells<OUT> implements Tally<number, OUT> {
  readonly layout: string
  readonly mostBytes: number
  private readonly tiling: Tiling
  private readonly cell: Cell<OUT>
  private readonly stride: number

  constructor(tiling: Tiling, cell: Cell<OUT>) {
    this.tiling = tiling
    this.cell = cell
    this.stride = TILE_BYTES + cell.width
    this.mostBytes = tiling.most * this.stride
    this.layout = `${cell.name}/${tiling.windowMs}/${tiling.tileMs}`
  }

  check(input: unknown): string | undefined {
    return refusalOfNumber(input)
  }

  add(row: OpenRow, feature: number, time: number, input: number): void {
    const { stride, tiling } = this
    const tile = tiling.tileOf(time)
    const start = row.startOf(feature)
    let at = start + row.sizeOf(feature) - stride
    // The newest tile is the one of almost every event.
    while (at >= start && row.view.getUint32(at, true) > tile) at -= stride
    if (at >= start && row.view.getUint32(at, true) === tile) {
      this.cell.add(row.view, at + TILE_BYTES, input)
      return
    }
    const first = tiling.firstOf(row.newest)
    if (tile < first) return
    const place = at + stride - this.prune(row, feature, first)
    row.insert(feature, place, stride)
    row.view.setUint32(place, tile, true)
    this.cell.begin(row.view, place + TILE_BYTES, input)
  }

  read(row: OpenRow, feature: number, at: number): OUT {
    const { stride, tiling } = this
    const start = row.startOf(feature)
    const end = start + row.sizeOf(feature)
    const from = firstFrom(row.view, { from: start, to: end, stride }, tiling.firstOf(at))
    return this.cell.read(row.view, { from: from + TILE_BYTES, to: end, stride })
  }

  /** Removes the tiles before the first one that can still be read. Returns their bytes. */
  private prune(row: OpenRow, feature: number, first: number): number {
    const { stride } = this
    const from = row.startOf(feature)
    const kept = firstFrom(row.view, { from, to: from + row.sizeOf(feature), stride }, first)
    if (kept > from) row.remove(feature, from, kept - from)
    return kept - from
  }
}

/** The place of the first entry whose tile is not before `first`, in a list that is sorted by tile; `to` where all are. */
export function firstFrom(view: DataView, { from, to, stride }: CellSpan, first: number): number {
  let at = from
  while (at < to && view.getUint32(at, true) < first) at += stride
  return at
}
