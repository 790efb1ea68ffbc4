import { payloads, testInjection } from './injection.ts'

describe('script in what people, peers and operators wrote', () => {
  testInjection(payloads.slice(2))
})
