import { testFaults } from './faults/fault-tests.ts'
import { wholeSize } from './faults/run-faults.ts'

describe('an instance under load, while its processes and servers are killed, frozen and partitioned', function () {
  this.timeout(280_000)

  testFaults(wholeSize)
})
