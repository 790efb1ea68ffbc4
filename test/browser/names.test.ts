import { names, testNames } from './names.ts'

describe('names that people chose', () => {
  // names.system.test.ts has the others.
  testNames(Object.fromEntries(Object.entries(names).slice(0, 4)))
})
