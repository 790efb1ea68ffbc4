import { expect } from 'chai'
import { tokenIn } from './invite-token.ts'

describe('the invite token in what a person pastes', () => {
  it('is found in the link, with blanks around it', () => {
    expect(tokenIn(' https://chat.example/register?invite=Kq2vN8xTz4mWbR7cLd0sYA\n')).to.equal('Kq2vN8xTz4mWbR7cLd0sYA')
  })

  it('is the text itself when it is no link', () => {
    expect(tokenIn(' Kq2vN8xTz4mWbR7cLd0sYA ')).to.equal('Kq2vN8xTz4mWbR7cLd0sYA')
  })
})
