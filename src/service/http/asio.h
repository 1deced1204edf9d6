// The parts of Boost.Asio that this module is made of. For its sources only: no header that others
// include needs it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace outbox::service {

namespace asio = boost::asio;
using asio::ip::tcp;
using AsioError = boost::system::error_code;

// For `co_await x.async_y(Into(error))`: the error as a value.
inline auto Into(AsioError& error) { return asio::redirect_error(asio::use_awaitable, error); }

}  // namespace outbox::service
