import { payloads, testInjection } from './injection.ts'

describe('script in what people, peers and operators wrote', () => {
  // injection.system.test.ts has the others.
  testInjection(payloads.slice(0, 2))
})
