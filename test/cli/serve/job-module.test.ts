import { describe, expect, it } from 'vitest'
import { copiesWarning, jobOptionsHelp, logOptions } from '../../../src/cli/serve/job-module.ts'
import { checkedOptions, defineJob } from '../../../src/dataflow/job/definition.ts'

const build = (): void => {}

describe('several copies of Weir in one process', () => {
  it('are named in a warning, with what to do', () => {
    const urls = ['file:///usr/lib/weir/dist/core/errors.js', 'file:///job/weir/src/core/errors.ts']
    expect(copiesWarning(urls.slice(0, 1))).toBeUndefined()
    expect(copiesWarning(urls)).toBe(
      'this process has 2 copies of Weir: file:///usr/lib/weir and file:///job/weir; run the "weir" of the project (npx weir), so that both are the same version',
    )
  })
})

describe('the help of a job', () => {
  it('lists its declared options with type, choices and default', () => {
    const job = defineJob({
      name: 'visits',
      options: {
        output: { type: 'string', help: 'Folder of the reports' },
        format: { type: 'string', help: 'Format', default: 'csv', choices: ['csv', 'json'] },
      },
      build,
    })
    expect(jobOptionsHelp(job as never)).toBe(
      [
        'Options of the job visits (--option NAME=VALUE):',
        '  output  Folder of the reports (string, required)',
        '  format  Format (csv | json, default csv)',
      ].join('\n'),
    )
  })

  it('names the data folder for an option that has the log of it', () => {
    const job = defineJob({
      name: 'visits',
      options: { log: { type: 'string', help: 'Log', default: '.weir/log', isLogDirectory: true } },
      build,
    })
    expect(jobOptionsHelp(job as never)).toContain(
      '  log  Log (string, default: the embedded log of --data-dir)',
    )
  })

  it('says nothing about a job that declares none', () => {
    expect(jobOptionsHelp(defineJob({ name: 'visits', build }))).toBeUndefined()
  })
})

describe('the folder of the embedded log', () => {
  const job = defineJob({
    name: 'visits',
    options: {
      log: { type: 'string', help: 'Log', isLogDirectory: true },
      topic: { type: 'string', help: 'Topic', default: 'visits' },
    },
    build,
  })
  const given = { ...logOptions(job as never, '/data/log') }

  it('is the value of an option that asks for it, unless the user gives another one', () => {
    expect(checkedOptions(job, given)).toEqual({ log: '/data/log', topic: 'visits' })
    expect(checkedOptions(job, { ...given, log: '/mine' })).toEqual({
      log: '/mine',
      topic: 'visits',
    })
  })

  it('goes to no other option, and to no job without declared options', () => {
    expect(given).toEqual({ log: '/data/log' })
    expect(logOptions(defineJob({ name: 'visits', build }), '/data/log')).toEqual({})
  })
})
