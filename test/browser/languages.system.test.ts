import { accountPages, testLanguage } from './languages.ts'

describe('a language that is longer and runs from right to left', () => {
  testLanguage([], accountPages.slice(4))
})
