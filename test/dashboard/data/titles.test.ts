import { expect, it } from 'vitest'
import { parseTitles } from '../../../dashboard/src/data/titles.ts'

it.each([
  ['1,Toy Story (1995)', 'Toy Story (1995)'],
  ['1,"Postman, The (""Il Postino"")",Drama', 'Postman, The ("Il Postino")'],
  ['1::Toy Story (1995)::Animation', 'Toy Story (1995)'],
  ['1|Toy Story (1995)|01-Jan-1995||', 'Toy Story (1995)'],
  ['1\tToy Story: the film', 'Toy Story: the film'],
])('%s has the title %s', (line, title) => {
  expect([...parseTitles(`${line}\r\nno separator\n,no id\n`)]).toEqual([['1', title]])
})
