import { expectSocketsClosed } from './drain-instance.ts'

describe('npm start, when it is stopped under load', function () {
  this.timeout(600_000)

  it('Server going away: 1012, spread over a drain period: all of 2,000 sockets', () => expectSocketsClosed(2_000))
})
