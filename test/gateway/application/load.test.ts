import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkedRoutes, loadRoutes } from '../../../src/gateway/application/load.ts'

const route = {
  path: '/app/counts/:user',
  states: ['COUNTS'],
  summary: 'Counts of a user',
  respond: () => 1,
}
const refusal = (...given: unknown[]): string => {
  try {
    checkedRoutes(given, 'routes.ts')
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
    return (error as Error).message
  }
  return ''
}

describe('the routes of an application', () => {
  it('are those that the module exports', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-routes-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'routes.mjs')
    writeFileSync(
      file,
      "export default [{ path: '/app/a', states: ['S'], summary: 'A', respond: () => 1 }]",
    )
    expect(await loadRoutes(file)).toMatchObject([{ path: '/app/a', states: ['S'] }])
    await expect(loadRoutes(join(folder, 'none.mjs'))).rejects.toThrow(/cannot be loaded/)
  })

  it('are accepted where they are right', () => {
    expect(
      refusal(route, { ...route, path: '/app/counts', query: { limit: {} }, answer: {} }),
    ).toBe('')
  })

  it.each<[string, unknown, string]>([
    ['a path of the gateway', { ...route, path: '/v1/states' }, 'needs a path below /app/'],
    ['no path', {}, 'the route number 1 of routes.ts needs a path below /app/'],
    ['an empty part', { ...route, path: '/app/a//b' }, 'has a part'],
    ['a pattern', { ...route, path: '/app/*' }, 'has a part'],
    ['a regular expression', { ...route, path: '/app/:id(^\\d+$)' }, 'has a part'],
    ['two parts of a name', { ...route, path: '/app/:a/:a' }, 'two parts with the same name'],
    ['no states', { ...route, states: [] }, 'needs the names of the states'],
    ['no summary', { ...route, summary: '' }, 'needs a text in "summary"'],
    ['a query that is no schema', { ...route, query: { limit: 5 } }, 'needs JSON schemas by name'],
    ['an answer that is no schema', { ...route, answer: [] }, 'needs a JSON schema in "answer"'],
    ['no function', { ...route, respond: 5 }, 'needs a function in "respond"'],
  ])('are refused with %s', (_, given, message) => {
    expect(refusal(given)).toContain(message)
  })

  it('are refused where two have the same shape', () => {
    expect(refusal(route, { ...route, path: '/app/counts/:id' })).toContain('is there twice')
    expect(() => checkedRoutes({}, 'routes.ts')).toThrow(/routes\.ts has no routes/)
  })
})
