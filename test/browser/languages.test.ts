import { accountPages, publicPages, testLanguage } from './languages.ts'

describe('a language that is longer and runs from right to left', () => {
  // languages.system.test.ts has the others.
  testLanguage(publicPages, accountPages.slice(0, 4))
})
