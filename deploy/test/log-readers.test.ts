import { testLogReaders } from './log-readers.ts'

describe('a process whose log', () => {
  // Each form, reader and moment once; log-readers.system.test.ts has all.
  testLogReaders([
    { form: 'embedded', what: 'goes away', when: 'at the start' },
    { form: 'gateway', what: 'stops reading', when: 'under load' },
  ])
})
