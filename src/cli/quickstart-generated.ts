/** Shape of the ratings that the quickstart learns from when no file is given. */
export const GENERATED = { users: 2000, items: 800, ratings: 200_000, seed: 1 } as const
