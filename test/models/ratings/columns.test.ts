import { describe, expect, it } from 'vitest'
import { columnsByPosition, columnsOfHeader } from '../../../src/models/ratings/columns.ts'

const HEADER = ['user_id', 'item_id', 'rating', 'timestamp']

describe('columns that a caller names', () => {
  it('are those of their names or positions, and the others those of the header', () => {
    const header = ['when', 'rating', 'buyer', 'item_id']
    expect(columnsOfHeader(header, { user: 'buyer', time: '1' })).toEqual({
      ...{ user: 2, item: 3, rating: 1, time: 0 },
    })
    expect(columnsOfHeader(HEADER, { time: '' }).time).toBeUndefined()
  })

  it.each([
    [{ user: 'item_id', item: 'item_id' }, 'column 2 would be the user and the item'],
    [{ rating: '4', time: 'timestamp' }, 'column 4 would be the rating and the time'],
  ])('are refused if one column of a header is two fields: %o', (named, problem) => {
    expect(() => columnsOfHeader(HEADER, named)).toThrow(
      expect.objectContaining({
        code: 'UNPARSABLE_RECORD',
        message: expect.stringContaining(problem),
      }),
    )
  })

  it.each([
    [{ user: '2' }, 'column 2 would be the user and the item'],
    [{ item: '3' }, 'column 3 would be the item and the rating'],
    [{ time: '1' }, 'column 1 would be the user and the time'],
  ])('are refused if one position is two fields: %o', (named, problem) => {
    expect(() => columnsByPosition(4, named)).toThrow(
      expect.objectContaining({
        code: 'UNPARSABLE_RECORD',
        message: expect.stringContaining(problem),
      }),
    )
  })

  it('may change places', () => {
    expect(columnsByPosition(3, { user: '2', item: '1' })).toEqual({
      ...{ user: 1, item: 0, rating: 2, time: undefined },
    })
  })
})
