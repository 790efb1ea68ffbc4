import { expect } from 'chai'
import { parseInviteToken } from './use-registration.ts'

describe('parseInviteToken', () => {
  it('finds the token in an invite link with white space around it', () => {
    expect(parseInviteToken(' https://chat.example/register?invite=Kq2vN8xTz4mWbR7cLd0sYA\n')).to.equal(
      'Kq2vN8xTz4mWbR7cLd0sYA',
    )
  })

  it('takes any other text as the token', () => {
    expect(parseInviteToken(' Kq2vN8xTz4mWbR7cLd0sYA ')).to.equal('Kq2vN8xTz4mWbR7cLd0sYA')
  })
})
