import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { FileWatch } from '../../../../src/connectors/log/writer/file-watch.ts'
import { temporaryFolder } from '../fixture.ts'

function fileIn(folder: string): string {
  const file = join(folder, 'status')
  fs.writeFileSync(file, 'before')
  return file
}

function watchOf(paths: readonly string[], onChange: () => void): FileWatch {
  const watch = new FileWatch()
  onTestFinished(() => watch.close())
  watch.open(paths, onChange)
  return watch
}

it('reports that a file was overwritten in place', async () => {
  const file = fileIn(temporaryFolder())
  const onChange = vi.fn()
  expect(watchOf([file], onChange).isOpen).toBe(true)
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, 'after!', 0)
  await expect.poll(() => onChange.mock.calls.length).toBeGreaterThan(0)
  fs.closeSync(fd)
})

it('reports that a folder got a new entry', async () => {
  const folder = temporaryFolder()
  const onChange = vi.fn()
  watchOf([folder], onChange)
  fs.mkdirSync(join(folder, 'topic'))
  await expect.poll(() => onChange.mock.calls.length).toBeGreaterThan(0)
})

it('is open for none of its files when one cannot be watched, and does not try again', () => {
  const folder = temporaryFolder()
  const file = fileIn(folder)
  const watch = watchOf([file, join(folder, 'missing')], () => {})
  expect(watch.isOpen).toBe(false)
  watch.open([file], () => {})
  expect(watch.isOpen).toBe(false)
})

it('can be opened again after it was closed', () => {
  const file = fileIn(temporaryFolder())
  const watch = watchOf([file], () => {})
  watch.close()
  expect(watch.isOpen).toBe(false)
  watch.open([file], () => {})
  expect(watch.isOpen).toBe(true)
})
