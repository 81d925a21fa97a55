/** One server-sent event. */
export interface ServerEvent {
  readonly id: string
  readonly type: string
  readonly data: string
}

/** Splits the text of a stream of server-sent events, which arrives in any pieces, into events. */
export class EventParser {
  private rest = ''

  /** The events that are complete with this piece. Comments and the time of `retry` are skipped. */
  push(piece: string): readonly ServerEvent[] {
    const blocks = (this.rest + piece).split('\n\n')
    this.rest = blocks.pop() ?? ''
    return blocks.map(eventOf).filter(({ data }) => data !== '')
  }
}

function eventOf(block: string): ServerEvent {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''))
  }
  return {
    id: fields.get('id') ?? '',
    type: fields.get('event') ?? 'message',
    data: fields.get('data') ?? '',
  }
}
