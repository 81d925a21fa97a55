import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ClassArchive } from './class-archive.ts'

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-archive-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The file that a flag names. */
const fileOf = (flag: string): string => flag.slice(flag.indexOf('=') + 1)

it('classes are read only where a JVM of the same class path has kept them', () => {
  const folder = emptyFolder()
  const archive = new ClassArchive('a.jar:b.jar', folder)
  expect(archive.readFlags).toEqual([])
  const [writing] = archive.writeFlags
  expect(writing).toMatch(/^-XX:ArchiveClassesAtExit=/)
  writeFileSync(fileOf(writing!), 'classes')
  expect(archive.exists).toBe(false)
  archive.keep()
  expect(archive.exists).toBe(true)
  expect(archive.readFlags[0]).toMatch(/^-XX:SharedArchiveFile=.*\.jsa$/)
  expect(new ClassArchive('a.jar', folder).readFlags).toEqual([])
})

it('a JVM that was killed before it kept its classes leaves none', () => {
  const archive = new ClassArchive('a.jar', emptyFolder())
  archive.keep()
  expect(archive.exists).toBe(false)
})
