import { testFaults } from './faults/fault-tests.ts'

describe('an instance under load, while Redis, identity, NATS and PostgreSQL are killed', () => {
  // faults.system.test.ts has all.
  testFaults({
    only: ['Redis killed', 'identity killed', 'NATS killed', 'PostgreSQL killed'],
    replicas: {},
    writers: 1,
    changers: 1,
    clients: 2,
    goals: {
      faults: 4,
      'writes acknowledged': 3,
      'tokens revoked by an acknowledged change': 1,
      'revoked tokens presented': 20,
      'registrations by invite acknowledged': 1,
      'handshakes to ready': 2,
    },
  })
})
