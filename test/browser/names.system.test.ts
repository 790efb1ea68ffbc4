import { names, testNames } from './names.ts'

describe('names that people chose', () => {
  testNames(Object.fromEntries(Object.entries(names).slice(4)))
})
