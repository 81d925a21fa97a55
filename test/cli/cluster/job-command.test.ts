import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkSubmission, type JobCommands, wordsOf } from '../../../src/cli/cluster/job-command.ts'
import { submissionOf } from '../../../src/cli/cluster/submission.ts'
import { needs, type OptionSpec, type ValueSpec } from '../../../src/cli/command/command.ts'
import { wholeNumber } from '../../../src/cli/flag-kinds/numbers.ts'
import { keyValue } from '../../../src/cli/flag-kinds/pairs.ts'
import { address, path } from '../../../src/cli/flag-kinds/places.ts'
import { secret, someText } from '../../../src/cli/flag-kinds/words.ts'
import { AllowedHosts } from '../../../src/http/access/allowed-hosts.ts'

const OPTIONS: Readonly<Record<string, OptionSpec>> = {
  topic: { type: 'string', value: someText(), help: '', default: 'als-model' },
  set: { type: 'string', value: keyValue, multiple: true, help: '' },
  slots: { type: 'string', value: wholeNumber({ min: 1, max: 512 }), help: '' },
  sasl: { type: 'string', value: someText(), needs: [needs('topic', 'x')], help: '' },
  tls: { type: 'boolean', help: '' },
  token: { type: 'string', value: secret, isSecret: true, help: '' },
  'token-file': { type: 'string', value: path(), help: '' },
  detached: { type: 'boolean', help: '' },
  jobmanager: { type: 'string', value: address, help: '' },
  'jobmanager-tls': { type: 'boolean', help: '' },
  'jobmanager-tls-ca': { type: 'string', value: path(), help: '' },
}
const COMMANDS: JobCommands = {
  'als-serving': { words: ['run', 'als-serving'], options: OPTIONS },
  module: { words: ['run'], options: OPTIONS },
}

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-modules-'))
  mkdirSync(join(folder, 'allowed'))
  writeFileSync(join(folder, 'allowed', 'job.ts'), '')
  writeFileSync(join(folder, 'outside.ts'), '')
  symlinkSync(join(folder, 'outside.ts'), join(folder, 'allowed', 'link.ts'))
})

afterEach(() => rmSync(folder, { recursive: true }))

const check = (job: string, options = {}): void =>
  checkSubmission({ job, options }, COMMANDS, {
    modules: [join(folder, 'allowed')],
    files: [],
    hosts: new AllowedHosts(),
    host: '127.0.0.1',
    listener: {},
  })

describe('a submission', () => {
  it('becomes the command line that runs the job', () => {
    const options = { topic: '--weird', set: ['a=1', 'b=2'], tls: true }
    expect(wordsOf({ job: 'als-serving', options }, COMMANDS)).toEqual([
      'run',
      'als-serving',
      '--topic=--weird',
      '--set=a=1',
      '--set=b=2',
      '--tls',
    ])
    expect(wordsOf({ job: '/x/job.ts', options: { tls: false } }, COMMANDS)).toEqual([
      'run',
      '/x/job.ts',
    ])
  })

  it('may run a module below an allowed folder only, also behind a link', () => {
    expect(() => check(join(folder, 'allowed', 'job.ts'))).not.toThrow()
    for (const path of [
      join(folder, 'outside.ts'),
      join(folder, 'allowed', '..', 'outside.ts'),
      join(folder, 'allowed', 'link.ts'),
      join(folder, 'allowed-not', 'job.ts'),
      join(folder, 'allowed'),
    ]) {
      expect(() => check(path), path).toThrow('is not in a folder')
    }
  })

  it('names the nearest job for one that is not known', () => {
    expect(() => check('als-servin')).toThrow('did you mean "als-serving"?')
    expect(() => check('module')).toThrow('there is no job "module"')
    expect(() => check('constructor')).toThrow('there is no job "constructor"')
  })

  it('refuses options that are not flags of the job, secrets and flags of the client', () => {
    for (const name of ['topi', 'token', 'detached', 'jobmanager', '__proto__', 'json']) {
      expect(() => check('als-serving', Object.fromEntries([[name, 'x']])), name).toThrow(
        'has no option',
      )
    }
  })

  it('refuses a value of another type', () => {
    expect(() => check('als-serving', { topic: true })).toThrow('takes a text')
    expect(() => check('als-serving', { tls: 'yes' })).toThrow('takes true or false')
    expect(() => check('als-serving', { topic: ['a', 'b'] })).toThrow('takes a text')
  })

  it('refuses a value that the flag of the job does not take, before a process starts', () => {
    expect(() => check('als-serving', { slots: '0' })).toThrow(
      'the option "slots" must be a whole number from 1 to 512, not "0"; the nearest is 1',
    )
    expect(() => check('als-serving', { set: ['a=1', 'b'] })).toThrow('"set" must be KEY=VALUE')
    expect(() => check('als-serving', { slots: '2' })).not.toThrow()
  })

  it('leaves out defaults, secrets and the flags that say where to submit', () => {
    const flags = {
      topic: 'als-model',
      set: [],
      tls: true,
      // A setting of the submitter, which counts only with another topic.
      sasl: 'ada',
      token: 'secret',
      'token-file': 'token.txt',
      detached: true,
      jobmanager: 'x:1',
      'jobmanager-tls': true,
      'jobmanager-tls-ca': 'ca.crt',
    }
    expect(submissionOf('als-serving', OPTIONS, flags)).toEqual({
      job: 'als-serving',
      options: { tls: true },
    })
  })

  it('names the folder of models where it was submitted, also the one of the default if there is one', () => {
    const text: ValueSpec = { type: 'string', value: path(), help: '' }
    const options = { repository: { ...text, default: 'src' }, titles: text }
    const submitted = (repository: string) =>
      submissionOf('./scores.ts', options, { repository, titles: 'titles.csv' }).options
    const titles = join(process.cwd(), 'titles.csv')
    expect(submitted('src')).toEqual({ repository: join(process.cwd(), 'src'), titles })
    options.repository.default = 'no-folder'
    expect(submitted('no-folder')).toEqual({ titles })
    expect(submitted('../shared')).toMatchObject({ repository: join(process.cwd(), '../shared') })
    expect(submitted('/srv/models')).toMatchObject({ repository: '/srv/models' })
  })
})
