import { describe, expect, expectTypeOf, it } from 'vitest'
import { buildJob, defineJob } from '../../../src/dataflow/job/definition.ts'
import { completeJobOptions } from '../../../src/dataflow/job/option-specs.ts'

const SPECS = {
  output: { type: 'string', help: 'Folder of the reports' },
  pages: { type: 'number', help: 'Number of pages', default: 3 },
  sorted: { type: 'boolean', help: 'Sort the reports', default: false },
  format: { type: 'string', help: 'Format', default: 'csv', choices: ['csv', 'json'] },
} as const

const complete = (given: Record<string, unknown>) => completeJobOptions('visits', SPECS, given)

describe('declared options of a job', () => {
  it('take defaults, and become numbers and booleans from text', () => {
    expect(complete({ output: 'x' })).toEqual({
      output: 'x',
      pages: 3,
      sorted: false,
      format: 'csv',
    })
    expect(complete({ output: '7', pages: '7', sorted: 'true' })).toMatchObject({
      output: '7',
      pages: 7,
      sorted: true,
    })
  })

  it.each([
    [{}, 'job visits: option "output" is required: Folder of the reports'],
    [{ output: 'x', page: 1 }, 'job visits: there is no option "page"; did you mean "pages"?'],
    [{ output: 'x', toString: 1 }, 'there is no option "toString"'],
    [{ output: 'x', pages: 'many' }, 'option "pages" must be a number, not "many"'],
    [{ output: 'x', pages: '' }, 'option "pages" must be a number, not ""'],
    [{ output: 'x', sorted: 'yes' }, 'option "sorted" must be a boolean, not "yes"'],
    [{ output: 3 }, 'option "output" must be a string, not 3'],
    [{ output: 'x', format: 'xml' }, 'option "format" must be one of csv, json, not "xml"'],
  ])('refuse %j', (given, message) => {
    expect(() => complete(given)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(message),
      }),
    )
  })

  it('give build its values with their types', async () => {
    const seen: unknown[] = []
    const job = defineJob({
      name: 'visits',
      options: SPECS,
      build(env, options) {
        expectTypeOf(options.pages).toEqualTypeOf<number>()
        expectTypeOf(options.output).toEqualTypeOf<string>()
        seen.push(options)
        env.fromElements([1]).discard()
      },
    })
    await buildJob(job, { output: 'x', pages: 5 } as never)
    expect(seen).toEqual([{ output: 'x', pages: 5, sorted: false, format: 'csv' }])
    await expect(buildJob(job, {} as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
