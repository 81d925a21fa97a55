import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { cohortsOfFile } from '../../../src/cli/files/cohorts-file.ts'

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-cohorts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'users.csv')
  writeFileSync(file, text)
  return file
}

it('each value of a column of categories is a group, and a column of numbers is none', async () => {
  const file = fileOf(
    'user,country,age,plan,year:category\n1,DE,30,free|trial,1990\n2,NZ,41,paid,1980\n3,DE,,,1990\n',
  )
  expect(new Map(await cohortsOfFile(file))).toEqual(
    new Map([
      ['country=DE', new Set(['1', '3'])],
      ['country=NZ', new Set(['2'])],
      ['plan=free', new Set(['1'])],
      ['plan=trial', new Set(['1'])],
      ['plan=paid', new Set(['2'])],
      ['year=1990', new Set(['1', '3'])],
      ['year=1980', new Set(['2'])],
    ]),
  )
})

it('a file without groups is refused, with what to do', async () => {
  await expect(cohortsOfFile(fileOf('user,age\n1,30\n2,41\n'))).rejects.toThrow(/age:category/)
  await expect(cohortsOfFile('/nowhere/users.csv')).rejects.toThrow(
    /cannot read the cohorts file \/nowhere\/users.csv: no such file/,
  )
  await expect(cohortsOfFile(fileOf('user,country\n1\n'))).rejects.toMatchObject({
    code: 'UNPARSABLE_RECORD',
  })
})
