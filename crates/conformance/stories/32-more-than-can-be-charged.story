# Money is checked: a sum nobody could charge is refused, not wrapped around.
offer gems stock ruby:1000000@999999999999
hold h1 alice ruby                 -> held amount=999999999999
hold h2 bob ruby*2                 -> invalid_request field=lines
hold h3 carol ruby*1000000         -> invalid_request field=lines
unit ruby                          -> available remaining=999999
