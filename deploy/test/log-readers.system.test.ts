import { everyLogReader, testLogReaders } from './log-readers.ts'

describe('a process whose log', function () {
  this.timeout(400_000)

  testLogReaders(everyLogReader)
})
