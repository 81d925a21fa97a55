import { describe, expect, it } from 'vitest'
import { jobOptionsHelp } from '../../../src/cli/serve/job-module.ts'
import { defineJob } from '../../../src/dataflow/job-definition.ts'

const build = (): void => {}

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

  it('says nothing about a job that declares none', () => {
    expect(jobOptionsHelp(defineJob({ name: 'visits', build }))).toBeUndefined()
  })
})
