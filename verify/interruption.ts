import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { LEFTOVERS } from '../test/run/setup/leftovers.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * What a campaign leaves on a machine, as long as it runs: its temporary files, which are all in one folder, and its
 * processes. A signal ends these, removes the folder, and ends this process with 128 and the number of the signal. Processes
 * that are forked end by themselves when this one does.
 */
export class Interruptible implements Disposable {
  private readonly folder = mkdtempSync(join(tmpdir(), 'weir-campaign-'))
  private readonly tmpdir = process.env['TMPDIR']
  private readonly say: (line: string) => void

  constructor(say: (line: string) => void) {
    this.say = say
    process.env['TMPDIR'] = this.folder
    for (const signal of SIGNALS) process.on(signal, this.onSignal)
  }

  [Symbol.dispose](): void {
    for (const signal of SIGNALS) process.off(signal, this.onSignal)
    if (this.tmpdir === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = this.tmpdir
    rmSync(this.folder, { recursive: true, force: true })
  }

  private readonly onSignal = async (signal: (typeof SIGNALS)[number]): Promise<void> => {
    this.say(`interrupted by ${signal}: its processes end, and its files go`)
    // The campaign goes on meanwhile, and may start another process.
    while (LEFTOVERS.size > 0) {
      await Promise.allSettled([...LEFTOVERS].map((one) => one[Symbol.asyncDispose]()))
    }
    this[Symbol.dispose]()
    process.exit(128 + constants.signals[signal])
  }
}
