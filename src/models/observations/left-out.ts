/** Records of a topic that cannot be read, and so are left out. */
export interface LeftOut {
  readonly count: number
  /** Place of the first one, and why it cannot be read. */
  readonly first: string
}

/** Counts the records that a reading leaves out; `onBad` is the callback of the reader. */
export class LeftOutRecords {
  private count = 0
  private first = ''

  readonly onBad = (partition: number, offset: number, reason: string): void => {
    this.count += 1
    if (this.count === 1) this.first = `${partition}:${offset}: ${reason}`
  }

  /** What was left out; undefined if nothing was. */
  found(): LeftOut | undefined {
    return this.count === 0 ? undefined : { count: this.count, first: this.first }
  }
}

/** One line for the person who started the reading. */
export function leftOutText({ count, first }: LeftOut, topic: string): string {
  const records = count === 1 ? '1 record' : `${count.toLocaleString('en-US')} records`
  return `left out ${records} of topic ${topic} that cannot be read, the first at ${first}`
}

/** The same line for the lines of a file, or of the files of a folder. */
export function linesLeftOutText({ count, first }: LeftOut, place: string): string {
  const lines = count === 1 ? '1 line' : `${count.toLocaleString('en-US')} lines`
  return `left out ${lines} of ${place} that cannot be read; ${first}`
}
